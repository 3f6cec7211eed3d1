package config

import (
	"fmt"
	"strings"
)

// Reference returns the table of all options as Markdown.
func Reference() string {
	var b strings.Builder
	c := Default()
	for _, s := range sections {
		switch s.name {
		case "":
			b.WriteString("At the top of the file:\n\n")
		default:
			fmt.Fprintf(&b, "`[%s]`: %s\n\n", s.name, s.about)
		}
		b.WriteString("| key | flag | default | what it is |\n|---|---|---|---|\n")
		for _, f := range s.fields {
			v := f.value(&c)
			fmt.Fprintf(&b, "| `%s` | `--%s` | %s | %s |\n", f.key, f.flag, shown(v.String()), meaning(f.usage, v))
		}
		b.WriteString("\n")
	}
	b.WriteString("`[[device]]`, once for each device; the flag is `--device key=value,key=value`. One of the elements may be an interface or address alone, as in `--device eth0,mtu=1024`:\n\n")
	d := defaultDevice()
	itemTable(&b, deviceFields, &d)
	b.WriteString("`[[region]]`, once for each region; the flag is `--region key=value,key=value`:\n\n")
	r := defaultRegion()
	itemTable(&b, regionFields, &r)
	return strings.TrimSuffix(b.String(), "\n")
}

func itemTable[T any](b *strings.Builder, fields []field[T], item *T) {
	b.WriteString("| key | default | what it is |\n|---|---|---|\n")
	for _, f := range fields {
		v := f.value(item)
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", f.key, shown(v.String()), meaning(f.usage, v))
	}
	b.WriteString("\n")
}

func shown(value string) string {
	if value == "" {
		return ""
	}
	return "`" + value + "`"
}

// meaning returns the description of an option and its allowed values.
func meaning(usage string, v Value) string {
	usage = strings.ReplaceAll(usage, "`", "")
	if v.inReference() {
		return usage + " (" + v.Allowed() + ")"
	}
	return usage
}
