// SPDX-License-Identifier: LGPL-2.1-or-later

// What CRI-O, containerd and podman relabel with, as a program, for "tools/bench relabel":
//
//	go-selinux [--compare] LABEL DIR
//
// Without --compare it is Chcon() of the package, which in the version of Debian 12 (1.10.0) writes whatever the label
// is. Chcon() itself does not ask whether SELinux is on (its callers do), so it works as it is where SELinux is off.
//
// --compare is what later versions (since 1.11.1) do when the root has the label already, the "fast mode" of their
// rchcon(): told again here, with the same package's walk and calls.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/opencontainers/selinux/go-selinux"
	"github.com/opencontainers/selinux/pkg/pwalkdir"
)

func compare(root, label string) error {
	return pwalkdir.Walk(root, func(p string, _ fs.DirEntry, _ error) error {
		if now, err := selinux.LfileLabel(p); err == nil && now == label {
			return nil
		}
		err := selinux.LsetFileLabel(p, label)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	})
}

func main() {
	arguments := os.Args[1:]
	relabel := func(root, label string) error { return selinux.Chcon(root, label, true) }
	if len(arguments) > 0 && arguments[0] == "--compare" {
		relabel, arguments = compare, arguments[1:]
	}
	if len(arguments) != 2 {
		fmt.Fprintln(os.Stderr, "go-selinux [--compare] LABEL DIR")
		os.Exit(2)
	}
	if err := relabel(arguments[1], arguments[0]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
