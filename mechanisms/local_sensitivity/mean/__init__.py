"""The query: the mean of the records, and how far one person moves it."""
