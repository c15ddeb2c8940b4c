/** The result of `run_analysis`. */
export interface Analysis {
  characters: number;
  words: number;
  mostFrequent: { word: string; count: number }[];
}

/**
 * Counts the characters and words of a text, and returns its most frequent words. Words of equal
 * frequency are in alphabetical order.
 */
export function analyse(text: string): Analysis {
  const words = text.toLowerCase().match(WORD) ?? [];
  return { characters: [...text].length, words: words.length, mostFrequent: mostFrequent(words) };
}

function mostFrequent(words: string[]): Analysis['mostFrequent'] {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts]
    .map(([word, count]) => ({ word, count }))
    .sort((a, b) => b.count - a.count || (a.word < b.word ? -1 : 1))
    .slice(0, 5);
}

const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu;
