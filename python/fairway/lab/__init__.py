"""The laboratory as a page: its files, their build, and a server of them."""
