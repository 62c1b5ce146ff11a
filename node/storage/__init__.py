"""The only package that speaks SQL, and the block and undo files. Never: consensus decisions."""
