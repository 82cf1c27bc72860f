/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include "job/operation.h"

const OperationType *operation_type(Operation operation);
