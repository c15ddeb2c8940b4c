/** Where an object has to be so that it is near the clients on a continent, which is a code of two letters. */
export function locationHint(continent: string): DurableObjectLocationHint | undefined {
  return HINTS[continent];
}

const HINTS: Record<string, DurableObjectLocationHint> = {
  AF: 'afr',
  AS: 'apac',
  EU: 'weur',
  NA: 'enam',
  OC: 'oc',
  SA: 'sam',
};
