import { answerParent, partArgs } from "../part.ts";
import { createPublisher, type Phase, type PublisherOptions } from "./publisher.ts";

/* The client: a publisher in a process of its own. */
const publisher = createPublisher(partArgs<PublisherOptions>());

answerParent({
  start: () => publisher.start(),
  publish: (phase: Phase) => publisher.publish(phase),
});
