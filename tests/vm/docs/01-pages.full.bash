# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# Every command that the man pages show, but those of the sections that "commands" leaves to files of their own.

yes 'podman has an image' container_image
for page_path in pages/*.rst; do run_page "$page_path"; done
