"""Parallel text: from packages and official archives to pairs of sentences.

catalogs                   what a package holds → pairs as they were written
talks                      the official archives of TED talks → pairs in three parts
cleaning, languages        a pair as it was written → a pair of sentences, or nothing
parts                      pairs → train, val and test, of which nothing leaks
harvest                    all packages of a set → the files in the cache
"""
