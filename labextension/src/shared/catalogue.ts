import { type ITranslator, nullTranslator, type TranslationBundle } from '@jupyterlab/translation';

/** Name of the extension's translation catalogue. */
const CATALOGUE = 'nbtools_agent';

/** Returns the strings of the extension in the language of the application; in English without a translator. */
export function catalogue(translator: ITranslator | null | undefined): TranslationBundle {
  return (translator ?? nullTranslator).load(CATALOGUE);
}
