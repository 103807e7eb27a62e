"""Records in, pictures and pages out; it computes nothing that a record lacks."""
