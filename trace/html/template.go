package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"sync"
)

//go:embed page
var files embed.FS

// scripts are the files of the script, in order.
var scripts = []string{
	"data", "dom", "columns", "address", "filter", "axes", "window", "plot", "charts", "details", "items", "ladder",
	"list", "main",
}

// parts returns the templates before and after the data, the style and the script. They are loaded
// on first use.
var parts = sync.OnceValue(func() (p struct {
	head, tail    *template.Template
	style, script string
}) {
	all := template.Must(template.ParseFS(files, "page/head.html", "page/tail.html"))
	p.head, p.tail = all.Lookup("head.html"), all.Lookup("tail.html")
	p.style, p.script = read("style.css"), join(scripts)
	return p
})

func read(name string) string {
	b, err := files.ReadFile("page/" + name)
	if err != nil {
		panic(err) // embedded, so it cannot fail
	}
	return string(b)
}

func join(names []string) string {
	var b bytes.Buffer
	b.WriteString("\n'use strict';\n(() => {\n")
	for _, n := range names {
		b.WriteString(read(n + ".js"))
	}
	b.WriteString("})();\n")
	return b.String()
}

// policy returns the Content Security Policy, which allows only the given script and style.
func policy(script, style string) string {
	return "default-src 'none'; script-src " + source(script) + "; style-src " + source(style) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
}

func source(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
