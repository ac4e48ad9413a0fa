/** Text as it was written, such as JSON, which scrolls within its own box. */
export function TextBlock({ name, text }: { name: string; text: string }) {
  return (
    <pre
      tabIndex={0}
      role="group"
      aria-label={name}
      className="max-h-96 overflow-auto rounded-control bg-sunken p-2 text-meta wrap-anywhere whitespace-pre-wrap"
    >
      {text}
    </pre>
  );
}
