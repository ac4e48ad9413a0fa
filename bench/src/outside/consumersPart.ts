import { answerParent, partArgs } from "../part.ts";
import { type ConsumersOptions, startConsumers } from "./consumers.ts";

/* Consumers of a mailbox in a process of their own. */
const consumers = startConsumers(partArgs<ConsumersOptions>());

answerParent({ start: () => undefined, finish: (phase: never) => consumers.finish(phase) });
