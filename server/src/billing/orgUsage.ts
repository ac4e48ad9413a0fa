import { UsageError } from "../runtime/commandError.ts";

/** Apart from the commands, because a start of the service loads it and needs none of their modules. */
export const orgUsage = `  postrider org create <name> [--exempt | --state <state>] [--email <address>]
  postrider org list [--state <state>]
  postrider org show <id or slug>
  postrider org set-state <id or slug> <state> [--reason <text>]
  postrider org settle-batch <identifier> exported|resend
      states: pending, active, grace, suspended, exempt; results are JSON, with --json one document a line
`;

export class OrgUsageError extends UsageError {
  constructor(message: string, options?: ErrorOptions) {
    super(message, orgUsage, options);
  }
}
