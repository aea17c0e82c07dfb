"""One file for each question: configuration, data, figure. The only place where mechanisms and attacks meet."""
