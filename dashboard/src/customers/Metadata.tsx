/** The metadata of a customer or target, as JSON. */
export function Metadata({ value }: { value: object | undefined }) {
  if (value === undefined || Object.keys(value).length === 0) return <>none</>;
  return (
    <pre
      tabIndex={0}
      aria-label="Metadata"
      className="max-h-60 overflow-auto rounded-control bg-sunken p-2 text-meta wrap-anywhere whitespace-pre-wrap"
    >
      {JSON.stringify(value, undefined, 2)}
    </pre>
  );
}
