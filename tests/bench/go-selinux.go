// SPDX-License-Identifier: LGPL-2.1-or-later

// The package with which CRI-O, containerd and podman relabel, as a program for "tools/bench relabel":
//
//	go-selinux [--compare] LABEL DIR
//
// Without --compare the program calls Chcon() of the package, which in Debian 12's version (1.10.0) writes each label
// without a look. Chcon() works with SELinux off too, because its callers check that, not Chcon() itself.
//
// With --compare the program does the same as the "fast mode" of rchcon() in later versions (since 1.11.1), which use
// it when the root has the label already. compare() restates it with the package's own walk and calls.
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
