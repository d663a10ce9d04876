"""Files of users: edge lists and node tables in, results out."""
