# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs every command in the man pages, except in the sections that APART in "commands" leaves to other files.

yes 'podman has an image' container_image
for page_path in pages/*.rst; do run_page "$page_path"; done
