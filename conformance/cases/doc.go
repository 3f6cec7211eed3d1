// Package cases has the cases of the conformance tester, by chapter: one file each. See [All].
package cases
