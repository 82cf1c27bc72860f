// SPDX-License-Identifier: LGPL-2.1-or-later

// The steps with which kubelet gives a volume to a pod's fsGroup, as a program for "tools/bench chgrp":
//
//	kubelet-chgrp GID DIR
//
// The program restates the steps of kubelet 1.36 (SetVolumeOwnership() in pkg/volume), not its code. One goroutine
// walks by full paths, in the order in which it reads them, and the contents of a directory come before the directory.
// For each entry it calls lstat(2), counts the entry, sets the group, and adds bits to the mode (a symbolic link has
// no mode), whether the entry has group and mode already or not. A failed lstat(2) or read ends the walk; a failed
// change is only logged.
//
// The program has no OnRootMismatch, because the benchmark compares walks.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
)

const (
	fileBits      fs.FileMode = 0660
	directoryBits fs.FileMode = fileBits | 0110 | fs.ModeSetgid
)

type volume struct {
	gid  int
	done int64 // atomic, because another goroutine of kubelet reads it for events
}

func (v *volume) give(path string, info fs.FileInfo) {
	atomic.AddInt64(&v.done, 1)
	if err := os.Lchown(path, -1, v.gid); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return
	}
	bits := fileBits
	if info.IsDir() {
		bits = directoryBits
	}
	if err := os.Chmod(path, info.Mode()|bits); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func namesIn(path string) ([]string, error) {
	directory, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer directory.Close()
	return directory.Readdirnames(-1)
}

func (v *volume) walk(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.IsDir() {
		names, err := namesIn(path)
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := v.walk(filepath.Join(path, name)); err != nil {
				return err
			}
		}
	}
	v.give(path, info)
	return nil
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "kubelet-chgrp GID DIR")
		os.Exit(2)
	}
	gid, err := strconv.ParseUint(os.Args[1], 10, 32)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	v := volume{gid: int(gid)}
	if err := v.walk(os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("bench entries=%d\n", v.done)
}
