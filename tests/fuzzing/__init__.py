"""Every file that the software reads, damaged: an error of ours, or none, and never a traceback."""
