// Package cases has the cases of the conformance tester: see [All]. The chapters header, uc, ud and
// congestion are in files of this package; sub-packages have those of the device as responder and
// as requester of reliable connections, and of its connection manager.
package cases
