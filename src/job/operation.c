/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "job/operation.h"

const OperationType *operation_type(Operation operation) {
        static const OperationType *const types[OPERATIONS] = {
                [OPERATION_MOUNT] = &mount_operation,         [OPERATION_PLAN] = &plan_operation,
                [OPERATION_ADOPT] = &adopt_operation,         [OPERATION_UNMOUNT] = &unmount_operation,
                [OPERATION_VERIFY] = &verify_operation,       [OPERATION_RELABEL] = &relabel_operation,
                [OPERATION_OWNERSHIP] = &ownership_operation,
        };

        return types[operation];
}

const char *operation_to_string(Operation operation) {
        return operation_type(operation)->name;
}
