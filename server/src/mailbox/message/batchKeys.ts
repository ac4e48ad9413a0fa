import { hash } from "node:crypto";
import { byteaArray, int2Array } from "../../postgres/hot/binaryArray.ts";

/** The distinct API keys of a batch: each is looked up once, and requests name theirs by its 1-based number. */
export function numberKeys(requests: readonly { key: string }[]) {
  const numbers = new Map<string, number>();
  const keyNumbers = requests.map(({ key }) => {
    let number = numbers.get(key);
    if (number === undefined) {
      number = numbers.size + 1;
      numbers.set(key, number);
    }
    return number;
  });
  return {
    keyHashes: byteaArray([...numbers.keys()].map((key) => hash("sha256", key, "buffer"))),
    keyNumbers: int2Array(keyNumbers),
  };
}
