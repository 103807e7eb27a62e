"""Every lemma, theorem and toy figure of the paper as something that is checked."""
