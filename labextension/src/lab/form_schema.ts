import type { RJSFSchema, UiSchema, ValidatorType } from '@rjsf/utils';
import type { ReadonlyJSONObject } from '@lumino/coreutils';

type Fields = UiSchema<ReadonlyJSONObject>;

const ROWS = 5;

/** Returns how the fields of a form are drawn: long texts and JSON in a field of several lines.  The kernel's formats are removed. */
export function fieldsOf(form: RJSFSchema): { schema: RJSFSchema; uiSchema: Fields } {
  const { format, properties, items, ...rest } = form;
  const schema: RJSFSchema = { ...rest };
  const uiSchema: Record<string, unknown> = {};
  if (format === 'multiline' || format === 'json') {
    uiSchema['ui:widget'] = 'textarea';
    uiSchema['ui:options'] = { rows: format === 'json' ? 1 : ROWS };
  }
  if (properties) {
    schema.properties = {};
    for (const [name, property] of Object.entries(properties)) {
      const field = fieldsOf(property as RJSFSchema);
      schema.properties[name] = field.schema;
      // An empty text is a value where a text is required: `new` of an edit that deletes.
      uiSchema[name] =
        form.required?.includes(name) && field.schema.type === 'string' ? { ...field.uiSchema, 'ui:emptyValue': '' } : field.uiSchema;
    }
  }
  if (items) {
    const field = fieldsOf(items as RJSFSchema);
    schema.items = field.schema;
    uiSchema['items'] = field.uiSchema;
  }
  return { schema, uiSchema: uiSchema as Fields };
}

/** The validator of a form: the kernel validates, with the tool itself.  A page would need to run code and patterns of foreign schemas. */
export const KERNEL_VALIDATES: ValidatorType<ReadonlyJSONObject> = {
  validateFormData: () => ({ errors: [], errorSchema: {} }),
  toErrorList: () => [],
  isValid: () => true,
  rawValidation: () => ({ errors: [] as never[] })
};
