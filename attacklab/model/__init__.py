"""The words of the field and their types: claims, domains, pairs, targets, findings.

Beside them the numbers, texts, files and errors that they rest on.
"""
