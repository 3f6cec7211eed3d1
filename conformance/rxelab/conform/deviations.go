package conform

// Deviation explains a verdict that is not a pass, in two sentences.
type Deviation struct {
	Cases []string
	Text  string // Markdown
}

// Deviations explain the published matrix.
var Deviations = []Deviation{}
