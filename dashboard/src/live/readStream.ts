/** One event of a `text/event-stream`. */
export interface StreamEvent {
  id: string | undefined;
  type: string;
  data: string;
}

/**
 * Reads server-sent events from a response, calling `take` for each event and `heard` for each chunk, comments included.
 * EventSource cannot send the session's header, so the stream is read with fetch. Resolves at the end of the stream.
 */
export async function readStream(
  body: ReadableStream<Uint8Array>,
  take: (event: StreamEvent) => void,
  heard: () => void,
): Promise<void> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    heard();
    const text = rest + decoder.decode(value, { stream: true });
    const blocks = text.split(/\r?\n\r?\n/);
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event !== undefined) take(event);
    }
  }
}

/** Parses one event without its final empty line (WHATWG HTML, section 9.2.6). */
function parseBlock(block: string): StreamEvent | undefined {
  const event: StreamEvent = { id: undefined, type: "message", data: "" };
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon === 0) continue;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event.type = value;
    else if (field === "data") data.push(value);
    else if (field === "id") event.id = value;
  }
  event.data = data.join("\n");
  return data.length > 0 ? event : undefined;
}
