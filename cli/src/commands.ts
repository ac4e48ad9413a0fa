import type { Command } from "./command.ts";
import { completionCommand } from "./commands/completionCommand.ts";
import { customerCommands } from "./commands/customers.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { eventTypeCommands } from "./commands/eventTypes.ts";
import { filterCommands } from "./commands/filters.ts";
import { itemCommands } from "./commands/items.ts";
import { listenCommand } from "./commands/listen.ts";
import { loginCommand, logoutCommand } from "./commands/login.ts";
import { mailboxCommands } from "./commands/mailboxes.ts";
import { publicationCommands, publishCommand } from "./commands/publications.ts";
import { replayJobCommands } from "./commands/replayJobs.ts";
import { replayCommand } from "./commands/replay.ts";
import { sendCommand } from "./commands/send.ts";
import { triggerCommand } from "./commands/trigger.ts";
import { targetCommands } from "./commands/targets.ts";
import { statsCommand } from "./commands/stats.ts";
import { serviceCommands } from "./serviceCommands.ts";
import { version } from "./version.ts";

/** The tree of all commands. */
export const commands: Command = {
  name: "postrider",
  summary: `event intake and delivery, ${version}`,
  commands: [
    ...serviceCommands,
    loginCommand,
    logoutCommand,
    targetCommands,
    sendCommand,
    publishCommand,
    triggerCommand,
    itemCommands,
    publicationCommands,
    replayCommand,
    replayJobCommands,
    statsCommand,
    eventTypeCommands,
    customerCommands,
    filterCommands,
    mailboxCommands,
    listenCommand,
    doctorCommand,
    completionCommand(() => commands),
    {
      name: "version",
      summary: "show the version",
      isLocal: true,
      run: async ({ out }) => {
        out.line({ version }, version);
      },
    },
  ],
};
