"""Compare two or more parsers: does any input change its meaning from one to the other?"""
