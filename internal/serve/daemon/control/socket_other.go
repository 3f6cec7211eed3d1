//go:build !unix

package control

func (k *socketKind) lock(string) (unlock func(), err error) { return func() {}, nil }

func private(string) error { return nil }
