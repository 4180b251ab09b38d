-- From here on readers of all jobs wait for this commit.
SELECT fence_history()
