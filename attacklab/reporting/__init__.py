"""What people read: experiments and their pages, figures, SARIF logs, progress."""
