"""The basic types: claims, domains, neighbouring pairs, targets and findings.

It also holds what these need: numbers, texts, files and errors.
"""
