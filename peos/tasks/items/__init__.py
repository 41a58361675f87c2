"""What people have together: views of lists of items, and tasks that find frequent items and item sets."""
