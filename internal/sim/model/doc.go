// Package model runs the machines of package transport on the nodes of a scenario and holds every
// step against a model of what the InfiniBand Architecture promises. The model predicts each packet,
// each change of memory, each completion, each event and each timer of a queue pair.
package model
