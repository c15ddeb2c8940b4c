/** One line or one part of a stack, with a value for each second. */
export interface Line {
  label: string;
  values: (number | null)[];
}
