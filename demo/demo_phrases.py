# SPDX-License-Identifier: Apache-2.0
"""What people call the clothes of the demo's gallery, class by class, in the order of demo_gallery.NAMES.

NAMES_OF and LOOKS train the front of words. HELD_OUT_PHRASES (new phrases around a trained word) and HELD_OUT_WORDS
(words that are trained nowhere) only measure it. WORDS may be typed too. IGNORED say nothing about clothes.
"""
NAMES_OF = [
    ["t-shirt", "t-shirts", "tee", "tees", "tee shirt", "short sleeved top", "top with short sleeves", "tank top",
     "tops", "cotton tee", "jersey top", "undershirt", "crew neck tee", "printed tee", "sleeveless top", "summer top"],
    ["trousers", "pants", "jeans", "pair of trousers", "long pants", "slacks", "leggings", "denim jeans", "suit pants",
     "chinos", "corduroys", "sweatpants", "skinny jeans", "jogging pants", "trouser legs", "tights"],
    ["pullover", "pullovers", "sweater", "sweaters", "jumper", "knitted sweater", "warm sweater", "sweatshirt",
     "woolen pullover", "long sleeved knitwear", "hoodie", "cardigan", "turtleneck", "fleece", "knit pullover",
     "wool jumper"],
    ["dress", "dresses", "gown", "evening dress", "summer dress", "long dress", "cocktail dress", "party dress",
     "wedding gown", "sundress", "frock", "bridal dress", "maxi dress", "ball gown", "dress for a party", "robe"],
    ["coat", "coats", "jacket", "jackets", "winter coat", "warm jacket", "overcoat", "long coat", "wool coat",
     "rain jacket", "parka", "raincoat", "trench coat", "blazer", "leather jacket", "outerwear"],
    ["sandal", "sandals", "flip flops", "open shoe", "high heels", "strappy sandals", "beach sandals", "heels",
     "shoes with high heels", "slippers", "stilettos", "open toe shoes", "summer shoes", "pumps", "wedge sandals",
     "heeled sandals"],
    ["shirt", "shirts", "blouse", "blouses", "button shirt", "shirt with buttons", "shirt with collar", "dress shirt",
     "office shirt", "formal shirt", "tunic", "button down shirt", "collared shirt", "linen shirt", "silk blouse",
     "business shirt"],
    ["sneaker", "sneakers", "running shoes", "sports shoes", "trainers", "running shoe", "tennis shoes", "gym shoes",
     "shoes with laces", "jogging shoes", "basketball shoes", "sport footwear", "athletic shoes", "skate shoes",
     "canvas shoes", "trainer shoe"],
    ["bag", "bags", "handbag", "handbags", "purse", "leather bag", "shoulder bag", "backpack", "bag with handle",
     "travel bag", "tote", "satchel", "briefcase", "clutch", "wallet", "luggage"],
    ["boot", "boots", "ankle boot", "ankle boots", "leather boots", "winter boots", "high boots", "boot with heel",
     "warm boots", "hiking boots", "cowboy boots", "chelsea boots", "rubber boots", "snow boots", "riding boots",
     "bootie"],
]

LOOKS = """black white red blue green brown grey dark light new old big small cheap elegant nice modern casual pretty
    stylish""".split()

HELD_OUT_PHRASES = [
    ["white cotton t-shirt", "soft tee for summer", "striped top", "baggy tee shirt"],
    ["blue denim pants", "straight jeans", "work trousers", "comfortable leggings"],
    ["thick wool sweater", "cozy jumper", "grey hooded sweatshirt", "ribbed pullover"],
    ["floral dress", "short red dress", "silk gown", "pleated summer dress"],
    ["long winter jacket", "waterproof coat", "elegant wool overcoat", "zip jacket"],
    ["flat leather sandals", "golden heels", "comfortable flip flops", "sandals with straps"],
    ["plain white shirt", "shirt for the office", "satin blouse", "striped shirt with collar"],
    ["white running sneakers", "shoes for the gym", "training shoes", "retro sneakers"],
    ["small leather purse", "school bag", "designer handbag", "canvas backpack"],
    ["suede ankle boots", "brown leather boot", "boots for snow", "knee high boots"],
]

HELD_OUT_WORDS = [
    ["camisole", "singlet", "polo"],
    ["joggers", "culottes", "pantaloons"],
    ["cashmere", "knits", "sweatshirts"],
    ["minidress", "pinafore", "gowns"],
    ["anorak", "windbreaker", "cloak"],
    ["clogs", "espadrilles", "mules"],
    ["chemise", "oxford", "buttoned"],
    ["plimsolls", "kicks", "sprinting"],
    ["rucksack", "suitcase", "pouch"],
    ["wellingtons", "galoshes", "booties"],
]

WORDS = """
    accessory apparel autumn beige bright business cape checked child children clothes clothing cold cord crossbody
    duffel everyday fabric fancy fashion fashionable fitted flats foot footwear garment girl gray heavy home hood ice
    jumpsuit kids kimono knee lace lady large leg legs loafers loose low luxury man men mens messenger moccasins
    narrow night nylon orange outdoor outfit overall pack party pattern pink pocket pockets poncho purple rain
    shiny shoe shorts silver simple skirt sleeve sleeves slim smart sole sporty spring suit thin tight toe track
    tracksuit travel trendy tuxedo underwear uniform vest vintage walking wear wide woman women womens yellow young
    zipper
""".split()

IGNORED = """a an the of for with without in on to and or some any my me i is are it that this these those show find
    search want need like look looking please photo photos picture pictures image images pair piece something
    similar""".split()
