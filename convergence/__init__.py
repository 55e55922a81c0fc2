"""What we measure: errors and rates of schemes on synthetic functions and on real networks."""
