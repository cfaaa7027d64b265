"""Which servers there are: the files that name them, as other programs write them, and what the person has said of them."""
