"""Where other projects want a class of theirs around an optimizer; see docs."""
