const { rspack } = require('@rspack/core');

/** How the builder splits and minifies the extension: for the browsers that JupyterLab supports, which makes it smaller than the defaults. */
module.exports = {
  optimization: {
    splitChunks: {
      cacheGroups: {
        default: false, // chunks are what is imported on demand
        defaultVendors: false,
        // A package in a module of its own is listed with its license.
        merge: { test: /@codemirror[\\/]merge/, name: 'editor-merge', chunks: 'async', enforce: true }
      }
    },
    minimizer: [
      new rspack.SwcJsMinimizerRspackPlugin({
        extractComments: false,
        minimizerOptions: {
          ecma: 2022,
          compress: { ecma: 2022, passes: 3, keep_fargs: false, unsafe_arrows: true, unsafe_methods: true },
          format: { ecma: 2022, comments: false }
        }
      })
    ]
  }
};
