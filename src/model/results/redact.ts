/** Results of `redact`. */

export interface RedactedFile {
  /** Its path in the bundle. */
  readonly file: string;
  readonly format: string;
  /** Equal to those of the original; null where the file is compressed anew. */
  readonly bytes: number | null;
  /** Places at which something was replaced. */
  readonly replaced: number;
}

/** `redaction-report.json` of a bundle: no name that was replaced is in it. */
export interface RedactionReport {
  readonly schema: 'mbforensics/redaction@1';
  readonly files: readonly RedactedFile[];
  readonly left_out: readonly { readonly file: string; readonly why: string }[];
  readonly kinds: readonly { readonly kind: string; readonly names: number; readonly replaced: number }[];
  /** All words that replace names: a second redaction keeps them. */
  readonly replacements: readonly string[];
  /** What still looks like a name or a key. */
  readonly suspicious: readonly { readonly text: string; readonly kind: string }[];
  /** Whether the bundle gives the diagnosis of the original, except names. */
  readonly diagnosis: 'equal' | 'different' | 'not compared';
}

export interface RedactResult {
  readonly schema: 'mbforensics/redact@1';
  readonly directory: string;
  /** Key and names, for the owner of the bundle; null for `--check`. */
  readonly names_file: string | null;
  readonly report: RedactionReport;
  /** Where the two diagnoses differ: paths in the JSON document. */
  readonly differences: readonly string[];
}
