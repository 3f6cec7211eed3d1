//go:build linux && (amd64 || arm64)

package keeper

// What follows is in bytes, strings and strconv, which are initialized late.

// decimal returns a number that is not negative as text.
func decimal(n int) string {
	var b [20]byte
	i := len(b)
	for {
		i--
		b[i] = '0' + byte(n%10)
		if n /= 10; n == 0 {
			return string(b[i:])
		}
	}
}

// parse is the reverse of decimal, for numbers of processes and descriptors.
func parse(s string) (n int, ok bool) {
	if s == "" || len(s) > 10 {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

// after returns what follows the last c in s, all of s without one.
func after(s string, c byte) string {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == c {
			return s[i+1:]
		}
	}
	return s
}

// fields splits s at spaces and the end of the line.
func fields(s string) (out []string) {
	start := -1
	for i := range len(s) + 1 {
		switch blank := i == len(s) || s[i] == ' ' || s[i] == '\n'; {
		case blank && start >= 0:
			out = append(out, s[start:i])
			start = -1
		case !blank && start < 0:
			start = i
		}
	}
	return out
}
