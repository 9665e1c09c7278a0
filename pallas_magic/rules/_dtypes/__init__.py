"""Types that a chip has and has not, in the user's words, and edits that change them."""
