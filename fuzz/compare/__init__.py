"""Two or more parsers side by side: does any input change its meaning from one to the other?"""
