"""What is trained: one file per domain, with their networks and their data."""
