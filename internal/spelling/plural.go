package spelling

// Plural returns the ending of a noun after a number: "s", or "" for one.
func Plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
